/** Takes the poster and the thumbnails of a result in a media child. */
import { misbehaved } from './failures.ts';
import { becomesNobody, type ChildPlan, type Mount } from './isolation.ts';
import { pictureList } from './messages.ts';
import { moveOut, withOutputFolder } from './output-folder.ts';
import { insideInput, insideOutput, readableFile } from './plans.ts';
import { runChild } from './child-session.ts';
import type { Picture, PicturesRequest } from './types.ts';
import { giveToChild } from './child-user.ts';

const posterName = 'poster.jpg';

const namesOf = ({ poster, thumbnails }: PicturesRequest): string[] => [
  ...(poster ? [posterName] : []),
  ...Array.from({ length: thumbnails }, (_, index) => `thumbnail-${index + 1}.jpg`),
];

export interface PicturesParts {
  isolated: boolean;
  plan(mounts: Mount[], timeoutMs: number): ChildPlan;
  onStart: ((pid: number) => void) | undefined;
}

/** The child writes into a folder of its own. Only the pictures that it names are moved out of it. */
export async function takePictures(parts: PicturesParts, request: PicturesRequest): Promise<Picture[]> {
  const { outputDir } = request;
  const videoPath = await readableFile(request.videoPath);
  return withOutputFolder(outputDir, async (folder) => {
    const pictures = await inChild(parts, { ...request, videoPath }, folder);
    assertExpected(pictures, request);
    for (const { file, sizeBytes } of pictures) await moveOut(folder, { name: file, sizeBytes }, outputDir);
    return pictures;
  });
}

/** A child cannot name another file than the requested ones. */
function assertExpected(pictures: Picture[], request: PicturesRequest): void {
  const expected = namesOf(request);
  const fits = pictures.length === expected.length && pictures.every(({ file, isPoster }, index) => file === expected[index] && isPoster === (file === posterName));
  if (!fits) throw misbehaved(new Error('the media child took other pictures than the requested ones'));
}

async function inChild({ isolated, plan: planOf, onStart }: PicturesParts, request: PicturesRequest, folder: string): Promise<Picture[]> {
  const { videoPath, poster, thumbnails, timeoutMs, signal } = request;
  const mounts: Mount[] = [
    { from: videoPath, to: insideInput },
    { from: folder, to: insideOutput, writable: true },
  ];
  const plan = planOf(isolated ? mounts : [], timeoutMs);
  if (becomesNobody(plan)) await giveToChild(folder);
  const [input, output] = isolated ? [insideInput, insideOutput] : [videoPath, folder];
  return runChild({
    plan,
    message: { op: 'take-pictures', input, folder: output, options: { poster, thumbnails } },
    result: pictureList,
    signal,
    onStart,
  });
}
