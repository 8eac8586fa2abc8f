/** Pages of lists. */

export interface PageOf<Item, Cursor> {
  data: Item[];
  has_more: boolean;
  next_cursor: Cursor | null;
}

interface PageFormat<Row, Item, Cursor> {
  serialize: (row: Row) => Item;
  /** of a page that ends with this row */
  cursor: (row: Row) => Cursor;
}

/** The page of these rows. */
export function toPage<Row, Item, Cursor>(rows: readonly Row[], hasMore: boolean, { serialize, cursor }: PageFormat<Row, Item, Cursor>): PageOf<Item, Cursor> {
  const last = rows.at(-1);
  const more = hasMore && last !== undefined;
  return { data: rows.map(serialize), has_more: more, next_cursor: more ? cursor(last) : null };
}

/** The page of up to `limit` + 1 rows: the query reads one more than requested, which shows whether there is another page. */
export function pageOf<Row, Item, Cursor>(rows: readonly Row[], limit: number, format: PageFormat<Row, Item, Cursor>): PageOf<Item, Cursor> {
  return toPage(rows.slice(0, limit), rows.length > limit, format);
}
