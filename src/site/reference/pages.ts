/** The pages of the API reference: an overview, and one for each tag of the contract. */
import { codeBlock, escapeHtml, tabs } from '../html.ts';
import { type Content, info, type Operation, type Response, streamOf, type Tag, tags } from './contract.ts';
import { samplesOf } from './samples.ts';
import { parameterList, schemaHtml } from './schema.ts';

type Render = (markdown: string) => string;

export interface ReferencePage {
  title: string;
  summary: string;
  /** last part of the URL; '' for the overview */
  slug: string;
  html: string;
}

const slugOf = ({ name }: Tag) => name.toLowerCase();
const method = (operation: Operation) => `<span class="method ${operation.method.toLowerCase()}">${operation.method}</span>`;
const route = (operation: Operation) => `${method(operation)} <code>${escapeHtml(operation.path)}</code>`;

function exampleBlock(type: string | undefined, content: Content | undefined, caption: string): string {
  const examples = Object.values(content?.examples ?? {});
  const [example] = examples;
  if (example === undefined) return '';
  if (type === 'text/event-stream') return codeBlock({ language: 'text', text: streamOf(examples).trim(), caption, isOutput: true });
  const isText = typeof example.value === 'string';
  const text = isText ? String(example.value) : JSON.stringify(example.value, null, 2);
  return codeBlock({ language: isText ? 'text' : 'json', text, caption, isOutput: true });
}

function parametersHtml({ parameters }: Operation, render: Render): string {
  if (parameters.length === 0) return '';
  const locations = { path: 'in the path', query: 'in the query', header: 'header' } as const;
  const shown = parameters.map(({ name, schema, description, required, in: location, example }) => ({
    name,
    schema,
    description,
    example,
    location: locations[location],
    ...(required === true ? { note: 'required' } : {}),
  }));
  return `<h3>Parameters</h3>${parameterList(shown, render)}`;
}

function bodyHtml({ body }: Operation, render: Render): string {
  const [type, content] = Object.entries(body?.content ?? {})[0] ?? [];
  if (type === undefined) return '';
  const fields = content?.schema === undefined || type !== 'application/json' ? '' : schemaHtml(content.schema, render);
  const examples = Object.values(content?.examples ?? {});
  const more = examples.slice(1).map(({ summary, value }) => codeBlock({ language: 'json', text: JSON.stringify(value, null, 2), caption: summary ?? 'Example' }));
  const rest = more.length === 0 ? '' : `<details class="more"><summary>More examples</summary>${more.join('')}</details>`;
  return `<h3>Body</h3>${render(body?.description ?? '')}<p class="rules"><code>${escapeHtml(type)}</code></p>${fields}${rest}`;
}

/** Links the names of error codes in a description to their explanations. */
function withErrorLinks(html: string, codes: ReadonlySet<string>): string {
  return html.replaceAll(/<code>([a-z_]+)<\/code>/g, (whole, code: string) => (codes.has(code) ? `<a href="/docs/errors#${code}">${whole}</a>` : whole));
}

function successHtml([status, { description, content = {} }]: [string, Response], render: Render): string {
  const [type, media] = Object.entries(content)[0] ?? [];
  const fields = media?.schema === undefined || type !== 'application/json' ? '' : schemaHtml(media.schema, render);
  const inner = fields === '' ? '' : `<details><summary>Fields of the answer</summary>${fields}</details>`;
  return `<div class="response"><p class="status good">${status}</p>${render(description)}${inner}${exampleBlock(type, media, 'Example')}</div>`;
}

function responsesHtml({ responses }: Operation, render: Render, codes: ReadonlySet<string>): string {
  const isError = (status: string) => /^[45]/.test(status);
  const good = responses.filter(([status]) => !isError(status)).map((response) => successHtml(response, render));
  const bad = responses
    .filter(([status]) => isError(status))
    .map(([status, { description }]) => `<div><dt><span class="status bad">${status}</span></dt><dd>${withErrorLinks(render(description), codes)}</dd></div>`);
  const errors = bad.length === 0 ? '' : `<details class="errors"><summary>Errors</summary><dl class="fields">${bad.join('')}</dl></details>`;
  return `<h3>Answer</h3>${good.join('')}${errors}`;
}

function samplesHtml(operation: Operation): string {
  const samples = samplesOf(operation);
  return tabs(samples.map(({ label, language, text }) => ({ label, html: codeBlock({ language, text, caption: operation.summary }) })));
}

function operationHtml(operation: Operation, render: Render, codes: ReadonlySet<string>): string {
  return `<section class="operation">
<h2 id="${operation.id}">${escapeHtml(operation.summary)}<a class="anchor" href="#${operation.id}" aria-hidden="true" tabindex="-1">#</a></h2>
<p class="route">${operation.isWebhook ? `<span class="method event">EVENT</span> <code>${operation.path}</code>` : route(operation)}</p>
${render(operation.description)}
${operation.isWebhook ? '' : samplesHtml(operation)}
${parametersHtml(operation, render)}
${bodyHtml(operation, render)}
${responsesHtml(operation, render, codes)}
</section>`;
}

const summaryOf = (description: string) => description.split('\n')[0]!;

function tagPage(tag: Tag, render: Render, codes: ReadonlySet<string>): ReferencePage {
  const html = `<h1 id="${slugOf(tag)}">${escapeHtml(tag.name)}</h1>\n${render(tag.description)}\n${tag.operations.map((one) => operationHtml(one, render, codes)).join('\n')}`;
  return { title: tag.name, summary: summaryOf(tag.description), slug: slugOf(tag), html };
}

function overviewHtml(render: Render): string {
  const list = tags.map((tag) => {
    const rows = tag.operations.map((one) => `<li><a href="/docs/reference/${slugOf(tag)}#${one.id}">${one.isWebhook ? `<span class="method event">EVENT</span> <code>${one.path}</code>` : route(one)} <span>${escapeHtml(one.summary)}</span></a></li>`);
    return `<h3>${escapeHtml(tag.name)}</h3><ul class="operations">${rows.join('')}</ul>`;
  });
  return `<h1 id="api-reference">API reference</h1>
<p class="lead">Version ${escapeHtml(info.version)}, described by an OpenAPI 3.1 document: <a href="/v1/openapi.yaml">YAML</a>, <a href="/v1/openapi.json">JSON</a>.</p>
${render(info.description)}
<h2 id="operations">Operations</h2>
${list.join('\n')}`;
}

/** `codes`: those that the page of the errors explains. */
export function referencePages(render: Render, codes: ReadonlySet<string>): ReferencePage[] {
  const overview = { title: 'Overview', summary: 'Conventions and every operation of the API, with samples.', slug: '', html: overviewHtml(render) };
  return [overview, ...tags.map((tag) => tagPage(tag, render, codes))];
}
