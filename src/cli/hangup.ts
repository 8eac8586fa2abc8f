/** SIGHUP, which the end of the terminal sends. Under `nohup` it must have no effect, but Node restores the default of ignored signals. */

/** scripts/reelmend, which sees what Node does not, sets the variable. */
export const ignoresHangup = (): boolean => process.env['REELMEND_NOHUP'] === '1';

/** Restores what `nohup` set. */
export function ignoreHangup(): void {
  if (ignoresHangup()) process.on('SIGHUP', () => {});
}
