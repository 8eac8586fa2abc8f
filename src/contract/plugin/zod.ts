/**
 * Adds what the zod plugin omits from objects and arrays: `additionalProperties: false`, `propertyNames`, `minProperties`,
 * `maxProperties`, `uniqueItems`, exactly one of two properties, the sentence of a pattern. And corrects what it interprets
 * otherwise: a text's `minLength` and `maxLength`.
 */
import type { Plugins } from '@hey-api/openapi-ts';
import { keptKeywords, patternMessage } from './keywords.ts';

type Resolvers = Plugins.Zod.Resolvers;
type ObjectContext = Parameters<NonNullable<Resolvers['object']>>[0];
type ArrayContext = Parameters<NonNullable<Resolvers['array']>>[0];
type StringContext = Parameters<NonNullable<Resolvers['string']>>[0];

/** `z.strictObject` if the document says `additionalProperties: false`; records with limits on their size and names. */
function objectResolver(ctx: ObjectContext) {
  const { $, plugin, schema, symbols } = ctx;
  const { exactlyOne } = keptKeywords(schema);
  const strict =
    schema.additionalProperties !== undefined && schema.additionalProperties !== false
      ? schema.additionalProperties.type === 'never'
      : schema.additionalProperties === false;
  let chain = strict ? $(symbols.z).attr('strictObject').call(ctx.nodes.shape(ctx)) : baseObject(ctx);
  for (const keyword of ['maxProperties', 'minProperties'] as const) chain = withLimit(ctx, chain, keyword);
  if (exactlyOne !== undefined) {
    const check = $(plugin.symbol('exactlyOneOf', { external: './exactly-one.ts' })).call(...exactlyOne.map((name) => $.literal(name)));
    chain = chain.attr('check').call(check);
  }
  return chain;
}

function baseObject(ctx: ObjectContext) {
  const { $, schema, symbols } = ctx;
  const { propertyNames } = schema;
  const values = ctx.nodes.additionalProperties(ctx);
  if (propertyNames?.pattern === undefined || !values) return ctx.nodes.base(ctx);
  const names = $(symbols.z).attr('string').call().attr('regex').call(...patternArguments($, propertyNames));
  return $(symbols.z).attr('record').call(names, values);
}

/** The pattern of a text, and the message of a text that does not match it. */
function patternArguments($: StringContext['$'], schema: { pattern?: string }) {
  const message = patternMessage(schema);
  const pattern = $.regexp(schema.pattern!);
  return message === undefined ? [pattern] : [pattern, $.literal(message)];
}

/** How a record's number of properties compares with each limit: the generator's method, and the words of the message. */
const comparisons = { maxProperties: ['lte', 'at most'], minProperties: ['gte', 'at least'] } as const;

/** Adds the check of one limit on the number of properties, if the document has it. */
function withLimit({ $, schema }: ObjectContext, chain: ReturnType<typeof baseObject>, keyword: keyof typeof comparisons) {
  const bound = keptKeywords(schema)[keyword];
  if (bound === undefined) return chain;
  const [method, words] = comparisons[keyword];
  const size = $('Object').attr('keys').call($('value')).attr('length');
  const test = size[method]($.literal(bound));
  const message = $.object().prop('error', $.literal(`Invalid input: expected ${words} ${bound} properties`));
  return chain.attr('refine').call($.func().param('value').do($.return(test)), message);
}

function arrayResolver(ctx: ArrayContext) {
  const { $ } = ctx;
  let chain = ctx.nodes.base(ctx);
  ctx.chain.current = chain;
  chain = ctx.nodes.length(ctx) ?? chain;
  for (const node of [ctx.nodes.minLength, ctx.nodes.maxLength]) {
    ctx.chain.current = chain;
    chain = node(ctx) ?? chain;
  }
  if (keptKeywords(ctx.schema).uniqueItems !== true) return chain;
  const distinct = $.new('Set', $('values').attr('map').call($('JSON').attr('stringify'))).attr('size');
  const test = distinct.eq($('values').attr('length'));
  const message = $.object().prop('error', $.literal('Invalid input: expected distinct items'));
  return chain.attr('refine').call($.func().param('values').do($.return(test)), message);
}

/** Like the plugin's own, but lengths are counted by `characters` (../characters.ts), and a pattern has its message. */
function stringResolver(ctx: StringContext) {
  const { $, plugin, schema } = ctx;
  const literal = ctx.nodes.const(ctx);
  if (literal) return literal;
  ctx.chain.current = ctx.nodes.base(ctx);
  ctx.chain.current = ctx.nodes.format(ctx) ?? ctx.chain.current;
  const bounds = $.object();
  if (schema.minLength !== undefined) bounds.prop('min', $.literal(schema.minLength));
  if (schema.maxLength !== undefined) bounds.prop('max', $.literal(schema.maxLength));
  if (!bounds.isEmpty) {
    const check = $(plugin.symbol('characters', { external: './characters.ts' })).call(bounds);
    ctx.chain.current = ctx.chain.current.attr('check').call(check);
  }
  if (schema.pattern === undefined) return ctx.chain.current;
  return ctx.chain.current.attr('regex').call(...patternArguments($, schema));
}

export const zodResolvers: Resolvers = { object: objectResolver, array: arrayResolver, string: stringResolver };
