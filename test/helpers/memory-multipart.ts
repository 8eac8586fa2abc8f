/** Multipart uploads of storages in memory. */
import { randomBytes } from 'node:crypto';
import { PartSizeError } from '../../src/storage/multipart-files.ts';
import type { MultipartUpload, StoredPart } from '../../src/storage/types.ts';

export class MemoryMultipart {
  readonly #objects: Map<string, Buffer>;
  /** upload id → part number → bytes */
  readonly #parts = new Map<string, Map<number, Buffer>>();
  readonly #keys = new Map<string, string>();

  constructor(objects: Map<string, Buffer>) {
    this.#objects = objects;
  }

  create(key: string): MultipartUpload {
    const id = randomBytes(16).toString('hex');
    this.#parts.set(id, new Map());
    this.#keys.set(id, key);
    return { key, id };
  }

  async write({ id }: MultipartUpload, { number, size }: StoredPart, body: AsyncIterable<Uint8Array>): Promise<boolean> {
    const chunks: Uint8Array[] = [];
    let received = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      received += chunk.byteLength;
      if (received > size) throw new PartSizeError(received, size);
    }
    if (received !== size) throw new PartSizeError(received, size);
    this.#parts.get(id)?.set(number, Buffer.concat(chunks));
    return this.#parts.has(id);
  }

  list({ id }: MultipartUpload): StoredPart[] {
    return [...(this.#parts.get(id) ?? [])].map(([number, { length: size }]) => ({ number, size })).sort((a, b) => a.number - b.number);
  }

  complete({ key, id }: MultipartUpload, { count }: { count: number }): { version: null } {
    const parts = this.#parts.get(id);
    if (parts === undefined) return { version: null };
    this.#objects.set(key, Buffer.concat(Array.from({ length: count }, (_, index) => parts.get(index + 1)!)));
    this.#parts.delete(id);
    return { version: null };
  }

  destroy(key: string): void {
    for (const [id, of] of this.#keys) if (of === key) this.#parts.delete(id);
  }

  has(key: string): boolean {
    return [...this.#keys].some(([id, of]) => of === key && this.#parts.has(id));
  }
}
