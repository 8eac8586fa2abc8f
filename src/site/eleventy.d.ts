/** The part of Eleventy that the build uses; the package has no types. */
declare module '@11ty/eleventy' {
  export interface Config {
    setTemplateFormats(formats: string[]): void;
    setUseGitIgnore(use: boolean): void;
    setIncludesDirectory(folder: string): void;
    addExtension(extensions: string[], options: { key: string }): void;
    addTemplate(path: string, content: string, data: object): void;
    addGlobalData(name: string, data: unknown): void;
    setLibrary(name: 'md', library: { render(text: string, data: object): string }): void;
    addTransform(name: string, transform: (this: { page: { outputPath: string } }, content: string) => string): void;
  }
  export interface Options {
    configPath?: string | null;
    quietMode?: boolean;
    config(config: Config): void;
  }
  export default class Eleventy {
    constructor(input: string, output: string, options: Options);
    write(): Promise<void>;
  }
}
