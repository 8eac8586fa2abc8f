/** Saves a text as a downloaded file. */
export function saveText(name: string, text: string, type = 'application/json'): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Later, because the download starts asynchronously.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
