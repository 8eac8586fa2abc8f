/**
 * The files of the repository that a test file can see: what it imports, directly and indirectly, and what it and its imports
 * name as a path, because tests start programs and read files. Too many rather than too few: a name that could be a path counts.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { parseSync } from 'vite';

const moduleTypes = new Set(['.ts', '.tsx', '.mts', '.js', '.mjs', '.cjs']);

/** Folders that the set-up builds, and the scripts that build them, which name their sources. */
const builtFrom: Readonly<Record<string, readonly string[]>> = {
  'build/console': ['scripts/build-console'],
  'build/docs': ['scripts/build-docs', 'docs'],
  'build/media': ['scripts/build-media-child', 'src/media'],
  'build/service': ['scripts/build-service', 'src/cli/main.ts'],
  'build/sdk': ['scripts/build-sdk', 'src/sdk'],
};

/** What a file names. `elsewhere`: also something that is not in the repository; `all`: the repository as a whole. */
interface Names {
  files: ReadonlySet<string>;
  all: boolean;
  elsewhere: boolean;
}

/** `undefined`: it may see what no fingerprint covers, so that it always has to run. */
export type Visible = ReadonlySet<string> | undefined;

export class VisibleFiles {
  readonly #root: string;
  readonly #files: ReadonlySet<string>;
  /** the files of each folder, those of its folders included */
  readonly #folders = new Map<string, string[]>();
  readonly #names = new Map<string, Names>();

  /** `files`: all files of the repository, relative to its root */
  constructor(root: string, files: readonly string[]) {
    this.#root = root;
    this.#files = new Set(files);
    for (const file of files) {
      for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
        this.#folders.set(folder, [...(this.#folders.get(folder) ?? []), file]);
      }
    }
  }

  of(...entries: string[]): Visible {
    const found = new Set(entries);
    // Files that are added while it runs are visited, too.
    for (const file of found) {
      const names = this.#namesIn(file);
      if (names.elsewhere) return undefined;
      if (names.all) return this.#files;
      for (const name of names.files) found.add(name);
    }
    return found;
  }

  #namesIn(file: string): Names {
    const known = this.#names.get(file);
    if (known !== undefined) return known;
    const names = this.#read(file);
    this.#names.set(file, names);
    return names;
  }

  #read(file: string): Names {
    const nothing = { files: new Set<string>(), all: false, elsewhere: false };
    if (!existsSync(join(this.#root, file))) return nothing;
    const text = readFileSync(join(this.#root, file), 'utf8');
    if (moduleTypes.has(extname(file))) return this.#resolve(file, textsOfModule(file, text));
    return text.startsWith('#!') ? { ...nothing, files: new Set(this.#pathsOfScript(text)) } : nothing;
  }

  #resolve(file: string, { texts, knowsItsPlace }: Texts): Names {
    const from = (text: string) => relative(this.#root, resolve(this.#root, dirname(file), text)) || '.';
    const rooted = texts.some((text) => text.startsWith('..') && from(text) === '.');
    const paths = texts.flatMap((text) => [
      ...(/^\.\.?\//.test(text) || (knowsItsPlace && text !== '.' && text !== '..') ? [from(text)] : []),
      // Programs and tests run in the root. Without a slash or a dot, a text is more likely a word.
      ...(/[/.]/.test(text) || rooted ? [text.replace(/\/+$/, '')] : []),
    ]);
    return {
      files: new Set(paths.flatMap((path) => this.#filesAt(path))),
      // Product code that knows the repository's root names the files that it uses there. A test may do anything with it.
      all: rooted && !file.startsWith('src/'),
      elsewhere: texts.some((text) => text.startsWith('../') && from(text).startsWith('../') && existsSync(join(this.#root, from(text)))),
    };
  }

  #filesAt(path: string): readonly string[] {
    if (this.#files.has(path)) return [path];
    const built = Object.keys(builtFrom).find((folder) => path === folder || path.startsWith(`${folder}/`));
    if (built !== undefined) return builtFrom[built]!.flatMap((source) => this.#filesAt(source));
    return this.#folders.get(path) ?? [];
  }

  /** Behind a variable or dots, one word is a path, too: `"$root/src"`. */
  #pathsOfScript(text: string): string[] {
    return [...text.matchAll(/(\$\{?\w+\}?\/|(?:\.\.?\/)+)?([\w@-][\w.@-]*(?:\/[\w.@-]+)*)/g)].flatMap(([, start, path]) =>
      start !== undefined || /[/.]/.test(path!) ? this.#filesAt(path!) : [],
    );
  }
}

/** `knowsItsPlace`: the module asks where it is, so that it can find the files beside it. */
interface Texts {
  texts: readonly string[];
  knowsItsPlace: boolean;
}

interface Node {
  type: string;
  [key: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

/** Behind a value that may be a folder, a slash does not start the path: `${root}/src/cli`. */
function textsOfTemplate(template: Node): string[] {
  const parts = (template['quasis'] as { value: { raw: string } }[]).map(({ value }) => value.raw);
  return parts.map((part, index) => (index === 0 ? part : part.replace(/^\//, '')));
}

/** All texts of a module's code: names of imports, strings, and the fixed parts of templates. Types do not run, so theirs are left out. */
function textsOfModule(file: string, code: string): Texts {
  const { program, errors } = parseSync(file, code);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0]!.message}`);
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isNode(value) || value['importKind'] === 'type' || value['exportKind'] === 'type') return;
    if (value.type === 'Literal' && typeof value['value'] === 'string') texts.push(value['value']);
    if (value.type === 'TemplateLiteral') texts.push(...textsOfTemplate(value));
    Object.values(value).forEach(visit);
  };
  visit(program);
  const fit = texts.filter((text) => text !== '' && text.length < 300 && !text.includes('\n'));
  return { texts: fit, knowsItsPlace: code.includes('import.meta') };
}
