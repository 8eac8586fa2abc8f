/** A limit on the bytes in temporary files, shared by all remote videos that are open. */
import { ReelmendError } from '../domain/errors.ts';

export class ByteBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Throws ReelmendError `service_unavailable` when too little of the budget is left. */
  take(bytes: number): void {
    if (bytes > this.#left) {
      const message = 'Too many videos without range requests are being measured; retry shortly.';
      throw new ReelmendError('service_unavailable', message, { retryAfterS: 5 });
    }
    this.#left -= bytes;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}
