/** HTML elements that several pages use. */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import yaml from 'highlight.js/lib/languages/yaml';

for (const [name, language] of Object.entries({ bash, go, ini, json, python, typescript, yaml })) hljs.registerLanguage(name, language);
hljs.registerAliases(['ts', 'js'], { languageName: 'typescript' });
hljs.registerAliases(['sh'], { languageName: 'bash' });

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character]!);

/** The text of some HTML: no tags, entities decoded. */
export function textOf(html: string): string {
  const plain = html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ').trim();
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** Coloured by classes, because the pages' policy allows no inline style. */
function highlighted(text: string, language: string): string {
  return hljs.getLanguage(language) === undefined ? escapeHtml(text) : hljs.highlight(text, { language }).value;
}

const captions: Readonly<Record<string, string>> = {
  bash: 'Terminal',
  sh: 'Terminal',
  go: 'Go',
  ini: 'Configuration',
  js: 'JavaScript',
  json: 'JSON',
  python: 'Python',
  ts: 'TypeScript',
  yaml: 'YAML',
};

export interface CodeBlock {
  language: string;
  text: string;
  /** shown above the block; default: the language */
  caption?: string | undefined;
  /** output of a command, which nobody copies */
  isOutput?: boolean;
}

/** A block of code with a caption and a copy button; the button appears if scripts run. */
export function codeBlock({ language, text, caption = captions[language] ?? '', isOutput = false }: CodeBlock): string {
  const button = isOutput ? '' : '<button type="button" class="copy" hidden>Copy</button>';
  const head = `<div class="code-head"><span>${escapeHtml(caption)}</span>${button}</div>`;
  const code = `<pre><code>${highlighted(text.replace(/\n$/, ''), language)}</code></pre>`;
  return `<div class="code${isOutput ? ' output' : ''}">${head}${code}</div>`;
}

export interface Panel {
  label: string;
  html: string;
}

/** Panels, one shown at a time. Without scripts all are shown, one below the other. */
export function tabs(panels: readonly Panel[]): string {
  const parts = panels.map(({ label, html }, i) => `<div class="panel${i === 0 ? ' shown' : ''}" data-label="${escapeHtml(label)}">${html}</div>`);
  return `<div class="tabs">${parts.join('')}</div>\n`;
}
