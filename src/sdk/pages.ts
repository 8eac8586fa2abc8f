/** Pagination of lists. */
import type { CallOptions } from './call.ts';
import { ApiPromise } from './promises.ts';

/** A page of a list. */
export interface Page<Item, Cursor extends string | number = string | number> {
  data: Item[];
  has_more: boolean;
  /** Pass this as `starting_after` to get the next page. */
  next_cursor: Cursor | null;
}

type AnyPage = Page<unknown>;
type ItemOf<P extends AnyPage> = P['data'][number];
type CursorOf<P extends AnyPage> = NonNullable<P['next_cursor']>;

/**
 * A promise of one page that can also be read as a list: `for await` yields the items of this page and of all pages after
 * it. Fetches each page when it is needed.
 */
export class PagePromise<P extends AnyPage> extends ApiPromise<P> implements AsyncIterable<ItemOf<P>> {
  readonly #fetchAfter: (cursor: CursorOf<P>) => Promise<P>;

  constructor(first: ApiPromise<P>, fetchAfter: (cursor: CursorOf<P>) => Promise<P>) {
    super(first.withResponse());
    this.#fetchAfter = fetchAfter;
  }

  /** Yields this page and all pages after it. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    for (let page: P = await this; ; page = await this.#fetchAfter(page.next_cursor as CursorOf<P>)) {
      yield page;
      if (!page.has_more || page.next_cursor === null) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<P>, void, undefined> {
    for await (const page of this.pages()) yield* page.data as ItemOf<P>[];
  }
}

/** The three ways to read a list. `fetchPage` makes the call for one page. */
export function listing<P extends AnyPage, Q extends { starting_after?: CursorOf<P> }>(
  fetchPage: (query: Q, options: CallOptions | undefined) => ApiPromise<P>,
) {
  const list = (query: Q, options?: CallOptions) =>
    new PagePromise<P>(fetchPage(query, options), (cursor) => fetchPage({ ...query, starting_after: cursor }, options));
  return {
    /** Returns one page, newest first. `for await (const item of list())` reads on to the end of the list. */
    list: (query: Q = {} as Q, options?: CallOptions): PagePromise<P> => list(query, options),
    /** Yields this page and all pages after it. Fetches each page when it is needed. */
    async *pages(query: Q = {} as Q, options?: CallOptions): AsyncGenerator<P, void, undefined> {
      yield* list(query, options).pages();
    },
    /** Yields the items of these pages. */
    async *all(query: Q = {} as Q, options?: CallOptions): AsyncGenerator<ItemOf<P>, void, undefined> {
      yield* list(query, options);
    },
  };
}
