/**
 * A reader who does what a document says, block by block, in a folder that looks like a checkout: the repository's
 * entries are linked into it, so that what the commands write (`.data`, downloads) stays out of the repository.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hangMs } from '../helpers/wait.ts';
import { type Block, root } from './markdown.ts';
import { commandOf, createProgram, isLanguage, type Language, type Program } from './programs.ts';

/** The documents state the settings of a job, not how long it takes. */
export const quickEncoder = { REELMEND_ENCODER_PRESET: 'ultrafast' };

/** Own to a checkout that was worked in, and not part of what a reader has. */
const notLinked = new Set(['.git', '.data', '.venv-training']);

export interface Checkout {
  dir: string;
  remove(): Promise<void>;
}

export async function createCheckout(): Promise<Checkout> {
  const dir = await mkdtemp(join(tmpdir(), 'reelmend-docs-'));
  for (const name of await readdir(root)) {
    if (!notLinked.has(name)) await symlink(join(root, name), join(dir, name));
  }
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

export interface ReaderOptions {
  /** the checkout */
  cwd: string;
  /** what a reader's machine differs in: literal text of the documents → what stands for it here */
  words: Record<string, string>;
  env?: Record<string, string>;
  /** API keys of the document → keys that its TypeScript and Python use instead: those of test mode, where each job takes no time */
  keys?: Record<string, string>;
  /** of one block */
  timeoutMs?: number;
}

interface Result {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Reader {
  /** does what the block says; rejects with what went wrong */
  follow(block: Block): Promise<void>;
  /** ends what was started in other terminals */
  leave(): Promise<void>;
}

/** Variables and the folder live on from block to block, as in one terminal. */
export async function createReader(options: ReaderOptions): Promise<Reader> {
  const home = await mkdtemp(join(tmpdir(), 'reelmend-reader-'));
  const terminals = new Map<string, ChildProcess>();
  let last: Result = { status: 0, stdout: '', stderr: '' };
  const say = (text: string) => Object.entries(options.words).reduce((all, [word, real]) => all.replaceAll(word, real), text);
  const shell = new Shell(home, options);
  const programs = new Map<Language, Program>();
  const programIn = (language: Language): Program => {
    const program = programs.get(language) ?? createProgram(shell.open(commandOf(language), options.keys ?? {}));
    programs.set(language, program);
    return program;
  };

  async function runSample(language: Language, text: string): Promise<Result> {
    const { stdout, error } = await programIn(language).run(text);
    return { status: error === null ? 0 : 1, stdout, stderr: error ?? '' };
  }

  async function follow(block: Block): Promise<void> {
    const { markers } = block;
    const text = say(block.text);
    if (markers['stops'] !== undefined) await end(terminals.get(markers['stops']));
    if (markers['file'] !== undefined) return write(join(options.cwd, markers['file']), text);
    if (markers['background'] !== undefined) {
      const log = join(home, `${markers['background']}.log`);
      terminals.set(markers['background'], await shell.start(text, log, say(markers['until'] ?? '')));
    } else if (markers['run'] !== undefined) {
      last = isLanguage(block.language) ? await runSample(block.language, text) : await shell.run(text);
      const expected = Number(markers['status'] ?? 0);
      if (last.status !== expected) throw new Error(`ended with status ${last.status}:\n${text}\n${last.stdout}${last.stderr}`);
    } else if (markers['output'] !== undefined) expectOutput(last, text);
    else if (markers['log'] !== undefined) await expectLog(join(home, `${markers['log']}.log`), text);
  }
  return {
    follow,
    async leave() {
      await Promise.all([...terminals.values(), ...[...programs.values()].map(({ child }) => child)].map(end));
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** `…` stands for anything, and any white space for any other. */
export function matches(printed: string, shown: string): boolean {
  const words = (text: string) => text.trim().split(/\s+/).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const pattern = words(shown).join(String.raw`\s+`).replaceAll(/(?:\\s\+)?…(?:\\s\+)?/g, String.raw`[\s\S]*?`);
  return new RegExp(`^${pattern}$`).test(printed.trim());
}

function expectOutput(result: Result, shown: string): void {
  const printed = result.stdout.trim() === '' ? result.stderr : result.stdout;
  if (!matches(printed, shown)) throw new Error(`The document shows\n${shown}\nbut this was printed\n${printed}`);
}

/** What another terminal shows may come a moment later, and after lines that the document does not show. */
async function expectLog(path: string, shown: string): Promise<void> {
  const deadline = Date.now() + hangMs;
  for (;;) {
    const printed = await readFile(path, 'utf8');
    if (matches(printed, `… ${shown} …`)) return;
    if (Date.now() > deadline) throw new Error(`The document shows\n${shown}\nbut the other terminal shows\n${printed}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

class Shell {
  readonly #state: string;
  readonly #options: ReaderOptions;

  constructor(home: string, options: ReaderOptions) {
    this.#state = join(home, 'state');
    this.#options = options;
  }

  /** Every assignment is kept for the next block; so is the folder. */
  #script(text: string, keep: boolean): string {
    const save = keep ? `trap '{ export -p; printf "cd %q\\n" "$PWD"; } >"${this.#state}"' EXIT` : '';
    return `[ ! -e "${this.#state}" ] || . "${this.#state}"\n${save}\nset -a -euo pipefail\n${text}`;
  }

  #spawn(script: string, stdio: 'pipe' | 'ignore', stdin: 'pipe' | 'ignore' = 'ignore'): ChildProcess {
    const { cwd, env } = this.#options;
    const clean = {
      PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      npm_config_update_notifier: 'false',
      // Saves half of the time of installing packages.
      PIP_NO_COMPILE: '1',
      ...quickEncoder,
      CHECKOUT: cwd,
      ...env,
    };
    // A group of its own, so that ending it ends what it started.
    return spawn('bash', ['-c', script], { cwd, env: clean, stdio: [stdin, stdio, stdio], detached: true });
  }

  run(text: string): Promise<Result> {
    const child = this.#spawn(this.#script(text, true), 'pipe');
    let [stdout, stderr] = ['', ''];
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        process.kill(-child.pid!, 'SIGKILL');
        reject(new Error(`took too long:\n${text}\n${stdout}${stderr}`));
      }, this.#options.timeoutMs ?? hangMs);
      child.once('error', reject).once('close', (status) => {
        clearTimeout(timer);
        resolve({ status, stdout, stderr });
      });
    });
  }

  /** A process that is written to and read from, with the variables that are set by now. */
  open(command: string, keys: Record<string, string>): ChildProcess {
    const swaps = Object.entries(keys).map(([from, to]) => `[ "\${REELMEND_API_KEY:-}" != "${from}" ] || export REELMEND_API_KEY=${to}\n`);
    return this.#spawn(this.#script(`${swaps.join('')}${command}`, false), 'pipe', 'pipe');
  }

  /** Resolves when `sign` stands in what it prints. */
  async start(text: string, log: string, sign: string): Promise<ChildProcess> {
    await writeFile(log, '');
    const child = this.#spawn(this.#script(`exec >"${log}" 2>&1\n${text}`, false), 'ignore');
    const deadline = Date.now() + (this.#options.timeoutMs ?? hangMs);
    for (;;) {
      const printed = await readFile(log, 'utf8');
      if (printed.includes(sign)) return child;
      if (child.exitCode !== null || Date.now() > deadline) {
        await end(child);
        throw new Error(`did not come up:\n${text}\n${printed}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** As Ctrl-C does, and harder after a minute. */
export async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, signal);
    } catch {
      // it ended by itself
    }
  };
  kill('SIGTERM');
  const timer = setTimeout(() => kill('SIGKILL'), 60_000);
  await exited;
  clearTimeout(timer);
}
