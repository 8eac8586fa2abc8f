/** The error for a transfer that can never be completed: parts of it are missing, and no object was made of them. */
export class PartsGoneError extends Error {
  override readonly name = 'PartsGoneError';

  constructor(key: string) {
    super(`Parts of ${key} are gone`);
  }
}
