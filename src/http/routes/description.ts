/** The authored document itself: as it is, and converted once to JSON. */
import { parse } from 'yaml';
import type { OpenApiDocument } from '../../contract/types.gen.ts';
import { zOpenApiDocument } from '../../contract/zod.gen.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../handlers.ts';

/** Throws when the text is no OpenAPI 3.1 document: a broken deployment should not start. */
export function descriptionHandlers({ description }: HttpDeps): Pick<Handlers, 'getOpenApiJson' | 'getOpenApiYaml'> {
  const document = parse(description) as OpenApiDocument;
  // Checked, not replaced by the parser's result, which would drop what the schema does not name.
  zOpenApiDocument.parse(document);
  return {
    getOpenApiJson: (c) => c.json(document, 200),
    getOpenApiYaml: (c) => c.body(description, 200, { 'Content-Type': 'application/yaml' }),
  };
}
