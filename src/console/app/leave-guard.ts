/** What happens when the page is closed, or loaded anew. */
import { useEffect } from 'react';

/** The browser asks whether to leave the page while `isActive`. Its text is the browser's own. */
export function useLeaveGuard(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isActive]);
}
