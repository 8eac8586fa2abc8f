/** Uses up the file descriptors of its process, then asks for a media child, and prints the failure. */
import { openSync } from 'node:fs';
import { createMedia } from '../../src/media/index.ts';
import type { ReelmendError } from '../../src/domain/errors.ts';

const media = await createMedia();
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  const failure = await media.devices().then(
    () => undefined,
    ({ code, cause }: ReelmendError) => ({ code, cause: (cause as NodeJS.ErrnoException).code }),
  );
  console.log(JSON.stringify(failure));
}
