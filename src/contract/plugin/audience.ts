/** The part of the document for customers: without the operations of one tag, and without components that only those use. */

interface Document {
  tags: { name: string }[];
  security?: SecurityRequirement[];
  paths: Record<string, Record<string, unknown>>;
  components: Record<string, Record<string, unknown>>;
  [part: string]: unknown;
}

type SecurityRequirement = Record<string, unknown>;

const reference = /^#\/components\/([^/]+)\/([^/]+)$/;

/** The document without the operations under `tag`, and without components that nothing refers to any more. */
export function withoutTag(document: unknown, tag: string): unknown {
  const { paths, components, tags, ...rest } = document as Document;
  const kept = Object.entries(paths)
    .map(([path, item]) => [path, Object.entries(item).filter(([, part]) => !isTagged(part, tag))] as const)
    .filter(([, parts]) => parts.some(([name]) => name !== 'parameters'))
    .map(([path, parts]) => [path, Object.fromEntries(parts)] as const);
  const part = { ...rest, tags: tags.filter(({ name }) => name !== tag), paths: Object.fromEntries(kept) };
  const needed = reachable(part, components);
  const pruned = Object.entries(components).map(([kind, named]) => [
    kind,
    Object.fromEntries(Object.entries(named).filter(([name]) => needed.has(`${kind}/${name}`))),
  ]);
  return { ...part, components: Object.fromEntries(pruned) };
}

function isTagged(part: unknown, tag: string): boolean {
  const tags = typeof part === 'object' && part !== null ? (part as { tags?: unknown }).tags : undefined;
  return Array.isArray(tags) && tags.includes(tag);
}

/** `kind/name` of each component that `part` refers to, directly or through others. */
function reachable(part: unknown, components: Document['components']): Set<string> {
  const found = new Set<string>();
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { $ref, security } = node as { $ref?: unknown; security?: unknown };
    const [, kind, name] = reference.exec(String($ref ?? '')) ?? [];
    if (kind !== undefined && name !== undefined && !found.has(`${kind}/${name}`)) {
      found.add(`${kind}/${name}`);
      walk(components[kind]?.[name]);
    }
    // Security schemes are referred to by name, not by `$ref`.
    for (const scheme of Array.isArray(security) ? security.flatMap((one: SecurityRequirement) => Object.keys(one)) : []) {
      found.add(`securitySchemes/${scheme}`);
    }
    Object.values(node).forEach(walk);
  };
  walk(part);
  return found;
}
