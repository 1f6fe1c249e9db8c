// Reads the workflows with the linter in the folder that is the argument, and prints what it finds.
const fs = require("fs");
const path = require("path");

const { createLinter } = require(process.argv[2]);
const folder = path.join(__dirname, "../../.github/workflows");

createLinter().then((lint) => {
  const names = fs.readdirSync(folder).filter((name) => name.endsWith(".yml"));
  const found = names.flatMap((name) => lint(fs.readFileSync(path.join(folder, name), "utf8"), name));
  for (const { file, line, column, message } of found) {
    console.log(`${file}:${line}:${column}: ${message}`);
  }
  console.log(`${names.length} workflows, ${found.length} findings`);
  process.exit(found.length || !names.length ? 1 : 0);
});
