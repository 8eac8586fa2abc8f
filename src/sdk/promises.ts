/** Results of calls: promises of the data that can also return the response. */
/** The data of a successful call with its response. */
export interface Answer<Data> {
  data: Data;
  /** Status and headers, such as `RateLimit`. Its body has been read. */
  response: Response;
  /** Id of the request in the log of the service. */
  requestId: string | undefined;
}

/** The type of a rejection; `any`, as for every promise. */
type Reason = Parameters<NonNullable<Parameters<Promise<unknown>['catch']>[0]>>[0];

/** A promise of a call's data. `withResponse()` resolves with the response as well. */
export class ApiPromise<Data> extends Promise<Data> {
  readonly #answer: Promise<Answer<Data>>;

  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(answer: Promise<Answer<Data>>) {
    // Nothing observes this promise itself, because `await` calls `then` below. So a failure rejects only one promise, and
    // an unhandled one is reported once.
    super((resolve) => resolve(undefined as Data));
    this.#answer = answer;
  }

  withResponse(): Promise<Answer<Data>> {
    return this.#answer;
  }

  override then<Kept = Data, Caught = never>(
    kept?: ((data: Data) => Kept | PromiseLike<Kept>) | null,
    caught?: ((reason: Reason) => Caught | PromiseLike<Caught>) | null,
  ): Promise<Kept | Caught> {
    return this.#answer.then(({ data }) => data).then(kept, caught);
  }

  override catch<Caught = never>(caught?: ((reason: Reason) => Caught | PromiseLike<Caught>) | null): Promise<Data | Caught> {
    return this.then(undefined, caught);
  }

  override finally(done?: (() => void) | null): Promise<Data> {
    return this.#answer.then(({ data }) => data).finally(done);
  }
}
