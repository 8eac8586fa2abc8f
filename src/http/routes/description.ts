/** The authored document itself: as it is, and converted to JSON once it is asked for. */
import { parse } from 'yaml';
import type { OpenApiDocument } from '../../contract/types.gen.ts';
import { zOpenApiDocument } from '../../contract/zod.gen.ts';
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';

/**
 * Throws at the first request when the text is no OpenAPI 3.1 document; the tests hold the one that is shipped to it.
 * Parsed then and not at the start, since it takes 15 MB of memory, and only its text is kept.
 */
export function descriptionHandlers({ description }: HttpDeps): Pick<Handlers, 'getOpenApiJson' | 'getOpenApiYaml'> {
  let json: string | undefined;
  const asJson = () => {
    const document = parse(description) as OpenApiDocument;
    // Checked, not replaced by the parser's result, which would drop what the schema does not name.
    zOpenApiDocument.parse(document);
    return JSON.stringify(document);
  };
  return {
    // The type of the answer cannot be seen in a text; the tests hold it against the document.
    getOpenApiJson: (c) => c.body((json ??= asJson()), 200, { 'Content-Type': 'application/json' }) as never,
    getOpenApiYaml: (c) => c.body(description, 200, { 'Content-Type': 'application/yaml' }),
  };
}
