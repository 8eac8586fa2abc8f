/** Pagination of lists. */

/** A page of a list. */
export interface Page<Item, Cursor extends string | number = string | number> {
  data: Item[];
  has_more: boolean;
  /** Pass this as `starting_after` to get the next page. */
  next_cursor: Cursor | null;
}

interface Query<Cursor> {
  starting_after?: Cursor;
}

/** Yields the requested page and all pages after it. Fetches each page when it is needed. */
export async function* pages<Cursor extends string | number, Q extends Query<Cursor>, P extends Page<unknown, Cursor>>(
  fetchPage: (query: Q) => Promise<P>,
  query: Q,
): AsyncGenerator<P, void, undefined> {
  for (let next = query; ;) {
    const page = await fetchPage(next);
    yield page;
    if (!page.has_more || page.next_cursor === null) return;
    next = { ...next, starting_after: page.next_cursor };
  }
}

/** Yields the items of these pages. */
export async function* items<Cursor extends string | number, Q extends Query<Cursor>, Item>(
  fetchPage: (query: Q) => Promise<Page<Item, Cursor>>,
  query: Q,
): AsyncGenerator<Item, void, undefined> {
  for await (const page of pages(fetchPage, query)) yield* page.data;
}
