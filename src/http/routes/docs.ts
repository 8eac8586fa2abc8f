/** The API reference: Swagger UI for the served document. Uses local files only and no inline script. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';

/** Forbids other hosts and inline scripts. Swagger UI's style sheet contains its icons as `data:` URLs. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reelmend API</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. The document is at <a href="v1/openapi.yaml">v1/openapi.yaml</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

// No validator: it would send the URL of the document to another host.
const start = `SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: false,
});
`;

// Swagger UI's tables are too wide for phones: tables in descriptions scroll, others are stacked cell by cell.
const style = `.swagger-ui .markdown table, .swagger-ui .renderedMarkdown table { display: block; overflow-x: auto; }
.swagger-ui .markdown code, .swagger-ui .renderedMarkdown code { overflow-wrap: anywhere; }
@media (max-width: 768px) {
  .swagger-ui .wrapper { padding: 0 12px; }
  .swagger-ui .opblock-tag { flex-wrap: wrap; }
  .swagger-ui .opblock-tag small { flex-basis: 80%; padding: 0; }
  .swagger-ui :is(table.responses-table, table.parameters),
  .swagger-ui :is(table.responses-table, table.parameters) > tbody,
  .swagger-ui :is(table.responses-table, table.parameters) > tbody > tr,
  .swagger-ui :is(table.responses-table, table.parameters) > tbody > tr > td {
    display: block; width: auto; min-width: 0; max-width: 100%;
  }
  .swagger-ui :is(table.responses-table, table.parameters) > thead { display: none; }
  .swagger-ui :is(.response-col_description, .response-col_links, .parameters-col_description) { overflow-x: auto; }
}
`;

const own: Readonly<Record<string, string>> = { 'page.css': style, 'start.js': start };
const resolve = createRequire(import.meta.url).resolve;
const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', png: 'image/png' } as const;
const kept = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

/** Cached in memory, 1.6 MB in total. */
function packageFile(name: string): Promise<Uint8Array<ArrayBuffer>> {
  let content = kept.get(name);
  if (content === undefined) {
    content = readFile(resolve(`swagger-ui-dist/${name}`)).then((bytes) => new Uint8Array(bytes));
    // The next request retries a failed read.
    content.catch(() => kept.delete(name));
    kept.set(name, content);
  }
  return content;
}

export function docsHandlers(_deps: HttpDeps): Pick<Handlers, 'getDocs' | 'getDocsFile'> {
  return {
    getDocs: (c) =>
      c.body(page, 200, {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': policy,
        'Cache-Control': 'no-cache',
      }),

    getDocsFile: async (c) => {
      const { file } = c.req.valid('param');
      const type = types[file.slice(file.lastIndexOf('.') + 1) as keyof typeof types];
      const content = own[file] ?? (await packageFile(file));
      return c.body(content, 200, { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' });
    },
  };
}
