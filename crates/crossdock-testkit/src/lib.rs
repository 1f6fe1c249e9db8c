//! Generators and oracles for tests. Depends on nothing of ours, so that it cannot share a mistake with what it checks.
