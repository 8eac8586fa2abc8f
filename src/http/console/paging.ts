/** Pages of lists: one entry more than asked for is read, to know whether more follow. */

export interface PageOf<Item, Cursor> {
  data: Item[];
  has_more: boolean;
  next_cursor: Cursor | null;
}

/** `rows` holds up to `limit` + 1; the cursor is that of the last one shown. */
export function pageOf<Row, Item, Cursor>(
  rows: readonly Row[],
  limit: number,
  { serialize, cursor }: { serialize: (row: Row) => Item; cursor: (row: Row) => Cursor },
): PageOf<Item, Cursor> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { data: shown.map(serialize), has_more: more, next_cursor: more ? cursor(last) : null };
}
