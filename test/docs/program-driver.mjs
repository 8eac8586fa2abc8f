/** Takes samples of TypeScript as lines of JSON, runs each in the same context, and prints what it printed and threw as JSON. */
import { Session } from 'node:inspector/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { format } from 'node:util';

// As the console of a debugger does: names are kept, and `await` is known outside of functions.
const session = new Session();
session.connect();
let printed = '';
const print = (...values) => void (printed += `${format(...values)}\n`);
Object.assign(globalThis.console, { log: print, error: print });

// Packages are those of the folder that the program runs in.
globalThis.importOf = createRequire(join(process.cwd(), 'sample.js'));

/** Such a console knows no import statement. */
const withoutImports = (code) =>
  code.replaceAll(/^import (\{[^}]*\}) from ('[^']*');$/gm, (_, names, from) => `const ${names.replaceAll(' as ', ': ')} = importOf(${from});`);

for await (const line of createInterface({ input: process.stdin })) {
  printed = '';
  const expression = withoutImports(stripTypeScriptTypes(JSON.parse(line)));
  const { exceptionDetails } = await session.post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true });
  const error = exceptionDetails === undefined ? null : (exceptionDetails.exception?.description ?? exceptionDetails.text);
  process.stdout.write(`${JSON.stringify({ stdout: printed, error })}\n`);
}
process.exit();
