/** The buttons that copy a block of code. */
async function copy(text: string): Promise<void> {
  // Absent on pages loaded over plain http from another machine.
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const focused = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  // To select a text moves the focus.
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('The browser does not let pages copy.');
}

export function enableCopying(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('.copy')) {
    button.hidden = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    button.addEventListener('click', () => {
      const code = button.closest('.code')?.querySelector('code')?.textContent ?? '';
      const show = (label: string) => {
        button.textContent = label;
        clearTimeout(timer);
        timer = setTimeout(() => (button.textContent = 'Copy'), 1500);
      };
      copy(code).then(
        () => show('Copied'),
        () => show('Not copied'),
      );
    });
  }
}
