/** Pages of lists. The queries read one row more than requested, which shows whether there is another page. */

export interface PageOf<Item, Cursor> {
  data: Item[];
  has_more: boolean;
  next_cursor: Cursor | null;
}

/** `rows` has up to `limit` + 1 rows. The cursor is that of the last row on the page. */
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
