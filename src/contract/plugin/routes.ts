/**
 * The generator plugin that writes `routes.gen.ts`: one `createRoute` of @hono/zod-openapi per operation of the
 * document, and the map `routes` keyed by operationId.
 */
import { $, definePluginConfig, type DefinePlugin, type IR } from '@hey-api/openapi-ts';

type Routes = DefinePlugin<{ name: 'routes' }>;
type Instance = Routes['Instance'];
type Layer = 'headers' | 'path' | 'query' | 'body';
type Expression = ReturnType<typeof $.object>;

const jsonType = /^application\/(?:[a-z.-]+\+)?json\b/i;
/** How a query parameter's text becomes a value; everything else stays text. */
const coerced: Readonly<Record<string, string>> = {
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  array: 'array',
};

function external(plugin: Instance, name: string, module: string) {
  return plugin.symbol(name, { external: module });
}

function requestSymbol(plugin: Instance, operation: IR.OperationObject, layer: Layer) {
  return plugin.querySymbol({
    artifact: 'zod',
    category: 'schema',
    resource: 'operation',
    resourceId: operation.id,
    role: `request-${layer}`,
  });
}

/** The coercion that one query parameter needs, by its schema; undefined for text. */
function coercionOf(plugin: Instance, schema: IR.SchemaObject): string | undefined {
  const resolved = schema.$ref === undefined ? schema : plugin.context.resolveIrRef<IR.SchemaObject>(schema.$ref);
  return resolved.type === undefined ? undefined : coerced[resolved.type];
}

/**
 * Query strings are text: numbers and booleans are converted by schema before they are validated. A parameter that the
 * document does not name is refused.
 */
function queryExpression(plugin: Instance, operation: IR.OperationObject) {
  const symbol = requestSymbol(plugin, operation, 'query');
  if (symbol === undefined) return undefined;
  const kinds = $.object();
  for (const parameter of Object.values(operation.parameters?.query ?? {})) {
    const kind = coercionOf(plugin, parameter.schema);
    if (kind !== undefined) kinds.prop(parameter.name, $.literal(kind));
  }
  return $(external(plugin, 'coercedQuery', './coerce.ts')).call($(symbol), kinds);
}

function requestExpression(plugin: Instance, operation: IR.OperationObject): Expression | undefined {
  const request = $.object().pretty();
  const params = requestSymbol(plugin, operation, 'path');
  if (params !== undefined) request.prop('params', $(params));
  const query = queryExpression(plugin, operation);
  if (query !== undefined) request.prop('query', query);
  const headers = requestSymbol(plugin, operation, 'headers');
  if (headers !== undefined) request.prop('headers', $(headers));
  const body = requestSymbol(plugin, operation, 'body');
  if (operation.body !== undefined && body !== undefined) {
    // An optional body would skip validation where the content type is absent, so the document must require it.
    if (operation.body.required !== true) throw new Error(`${operation.id}: requestBody must have required: true`);
    request.prop(
      'body',
      $.object()
        .pretty()
        .prop('content', content(operation.body.mediaType, bodySchema(plugin, operation.body.mediaType, body)))
        .prop('required', $.literal(true)),
    );
  }
  return request.isEmpty ? undefined : request;
}

/** A body that is not JSON is a stream, which no schema can validate. */
function bodySchema(plugin: Instance, mediaType: string, symbol: NonNullable<ReturnType<typeof requestSymbol>>) {
  if (jsonType.test(mediaType)) return $(symbol);
  return $(external(plugin, 'z', 'zod'))
    .attr('unknown')
    .call();
}

function content(mediaType: string, schema: Parameters<Expression['prop']>[1]) {
  return $.object().prop(mediaType, $.object().prop('schema', schema));
}

/** Statuses whose responses have no content (RFC 9110 §15). */
const withoutContent = new Set(['204', '304']);

function responseExpression(
  plugin: Instance,
  operation: IR.OperationObject,
  status: string,
  response: IR.ResponseObject,
) {
  const node = $.object()
    .pretty()
    .prop('description', $.literal(`${operation.id} ${status}`));
  const { mediaType, schema } = response;
  if (withoutContent.has(status)) return node;
  // Without a content entry the handler's result would not be type-checked.
  if (mediaType === undefined) throw new Error(`${operation.id} ${status}: a response needs content with a schema`);
  if (!jsonType.test(mediaType)) {
    return node.prop(
      'content',
      content(
        mediaType,
        $(external(plugin, 'z', 'zod'))
          .attr('unknown')
          .call(),
      ),
    );
  }
  if (schema.$ref === undefined) throw new Error(`${operation.id} ${status}: move the schema to components/schemas`);
  const symbol = plugin.referenceSymbol({
    artifact: 'zod',
    category: 'schema',
    resource: 'definition',
    resourceId: schema.$ref,
  });
  return node.prop('content', content(mediaType, $(symbol)));
}

/** The security schemes that one call needs together; the document names them, the model resolves them. */
function securityExpression(operation: IR.OperationObject) {
  const names = (operation.security ?? []).map((scheme) => {
    if (scheme.type === 'http') return 'apiKey';
    if (scheme.type === 'apiKey') return scheme.in === 'cookie' ? 'consoleSession' : 'csrfToken';
    throw new Error(`${operation.id}: there is no middleware for a security scheme of type ${scheme.type}`);
  });
  if (names.length === 0) return $.array();
  return $.array(names.reduce((needed, name) => needed.prop(name, $.array()), $.object()));
}

/** Hono's own notation if a parameter may contain slashes, which OpenAPI's templates cannot express. */
function routePath(operation: IR.OperationObject): string {
  let path = String(operation.path);
  for (const parameter of Object.values(operation.parameters?.path ?? {})) {
    if (parameter['x-spans-slashes'] === true) path = path.replace(`{${parameter.name}}`, `:${parameter.name}{.+}`);
  }
  return path;
}

function routeExpression(plugin: Instance, operation: IR.OperationObject) {
  const responses = $.object().pretty();
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    if (response !== undefined) responses.prop(status, responseExpression(plugin, operation, status, response));
  }
  const config = $.object()
    .pretty()
    .prop('operationId', $.literal(operation.id))
    .prop('method', $.literal(operation.method))
    .prop('path', $.literal(routePath(operation)))
    .prop('security', securityExpression(operation));
  const request = requestExpression(plugin, operation);
  if (request !== undefined) config.prop('request', request);
  return $(external(plugin, 'createRoute', '@hono/zod-openapi')).call(config.prop('responses', responses));
}

const handler: Routes['Handler'] = ({ plugin }) => {
  const map = $.object().pretty();
  plugin.forEach(
    'operation',
    ({ operation }) => {
      const symbol = plugin.symbol(`${operation.id}Route`);
      plugin.node($.const(symbol).export().assign(routeExpression(plugin, operation)));
      map.prop(operation.id, $(symbol));
    },
    { order: 'declarations' },
  );
  plugin.node($.const(plugin.symbol('routes')).export().assign(map));
};

export const routesPlugin = definePluginConfig<Routes['Types']>({
  name: 'routes',
  config: {},
  dependencies: ['zod'],
  handler,
});
