/** The files that somebody dropped or chose: single ones, and the videos of whole folders. */

/** Extensions of containers that FFmpeg reads. Some systems give them no type, or a wrong one. */
const videoName = /\.(?:3gp|asf|avi|divx|f4v|flv|m2ts|m2v|m4v|mkv|mov|mp4|mpe?g|mts|mxf|ogv|ts|vob|webm|wmv|y4m)$/i;

export interface ChosenFiles {
  files: File[];
  /** files of the folders that are no videos */
  skipped: number;
}

const isVideo = ({ name, type }: File): boolean => !name.startsWith('.') && (type.startsWith('video/') || videoName.test(name));

/** What was dropped. A file that is dropped by itself is taken whatever it is: the service says what is wrong with it. */
export async function droppedFiles({ items }: Pick<DataTransfer, 'items'>): Promise<ChosenFiles> {
  // The list is empty once the handler of the event has returned.
  const dropped = [...items].filter(({ kind }) => kind === 'file').map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const chosen: ChosenFiles = { files: [], skipped: 0 };
  for (const { entry, file } of dropped) {
    if (entry?.isDirectory === true) add(chosen, await filesBelow(entry as FileSystemDirectoryEntry));
    else if (file !== null) chosen.files.push(file);
  }
  return chosen;
}

/** The files of a folder that was chosen with an input. */
export function filesOfFolder(list: FileList): ChosenFiles {
  const chosen: ChosenFiles = { files: [], skipped: 0 };
  add(chosen, [...list]);
  return chosen;
}

function add(chosen: ChosenFiles, files: readonly File[]): void {
  const videos = files.filter(isVideo);
  chosen.files.push(...videos);
  chosen.skipped += files.length - videos.length;
}

/** In the order of their names, as a file manager shows them. */
async function filesBelow(folder: FileSystemDirectoryEntry): Promise<File[]> {
  const files: File[] = [];
  for (const entry of (await entriesOf(folder)).toSorted((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }))) {
    if (entry.isDirectory) files.push(...(await filesBelow(entry as FileSystemDirectoryEntry)));
    else files.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
  }
  return files;
}

/** Browsers return the entries of a folder in parts, and none after the last. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return entries;
    entries.push(...part);
  }
}
