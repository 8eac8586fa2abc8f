/** Serves openapi.yaml, unchanged and as JSON. */
import { parse } from 'yaml';
import { withoutTag } from '../../contract/plugin/audience.ts';
import type { OpenApiDocument } from '../../contract/types.gen.ts';
import { zOpenApiDocument } from '../../contract/zod.gen.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';

/**
 * Parses the document at the first request for JSON and not at the start, since parsing takes 15 MB of memory. Keeps only
 * the JSON texts. That request fails if the text is no OpenAPI 3.1 document; a test checks the shipped one.
 */
export function descriptionHandlers({ description }: HttpDeps): Pick<Handlers, 'getOpenApiJson' | 'getOpenApiYaml'> {
  const texts = new Map<boolean, string>();
  const asJson = (console: boolean) => {
    const document = parse(description) as OpenApiDocument;
    // Only a check: the parsed result would lack the fields that the schema does not name.
    zOpenApiDocument.parse(document);
    return JSON.stringify(console ? document : withoutTag(document, 'Console'));
  };
  return {
    // The type of a response body cannot be derived from a text; the tests compare it with the contract.
    getOpenApiJson: (c) => {
      const { console } = c.req.valid('query');
      const text = texts.get(console) ?? asJson(console);
      texts.set(console, text);
      return c.body(text, 200, { 'Content-Type': 'application/json' }) as never;
    },
    getOpenApiYaml: (c) => c.body(description, 200, { 'Content-Type': 'application/yaml' }),
  };
}
