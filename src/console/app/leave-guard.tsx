/** What happens before a page is left: closed, loaded anew, or exchanged for another page of the console. */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { AroundNavHandler } from 'wouter';
import { ConfirmDialog } from '../ui/dialog.tsx';

/** The browser asks whether to leave the page while `isActive`. Its text is the browser's own. */
export function useLeaveGuard(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return undefined;
    const askByBrowser = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', askByBrowser);
    return () => window.removeEventListener('beforeunload', askByBrowser);
  }, [isActive]);
}

/** A way to another page, and what is lost on it. */
interface Question {
  loss: string;
  go: () => void;
}

const nothing = () => null;
/** what would be lost now, as a sentence; null: nothing */
let findLoss: () => string | null = nothing;
let asked: Question | null = null;
let onAsked = () => {};

function ask(question: Question | null): void {
  asked = question;
  onAsked();
}

/** The console asks before it goes to another of its pages, where `find` returns a sentence that says what is lost then. */
export function useLeaveQuestion(find: () => string | null): void {
  const latest = useRef(find);
  useEffect(() => {
    latest.current = find;
  });
  useEffect(() => {
    findLoss = () => latest.current();
    return () => {
      findLoss = nothing;
      ask(null);
    };
  }, []);
}

/** Goes to another page without a question. */
export function leaveWithoutQuestion(go: () => void): void {
  findLoss = nothing;
  go();
}

const isOtherPage = (url: string) => new URL(url, window.location.href).pathname !== window.location.pathname;

/** Asks before a link of the console is followed. */
export const askBeforeLink: AroundNavHandler = (navigate, to, options) => {
  const loss = isOtherPage(to) ? findLoss() : null;
  if (loss === null) navigate(to, options);
  else ask({ loss, go: () => navigate(to, options) });
};

/** Asks before Back and Forward, in browsers with the Navigation API. */
export function askBeforeHistory(): void {
  const { navigation } = window as Partial<Window>;
  navigation?.addEventListener('navigate', (event) => {
    const { key, url } = event.destination;
    if (event.navigationType !== 'traverse' || !event.cancelable || url === null || !isOtherPage(url)) return;
    const loss = findLoss();
    if (loss === null) return;
    event.preventDefault();
    ask({ loss, go: () => void navigation.traverseTo(key) });
  });
}

function useAsked(): Question | null {
  return useSyncExternalStore(
    (onChange) => {
      onAsked = onChange;
      return () => {
        onAsked = () => {};
      };
    },
    () => asked,
  );
}

export function LeaveQuestion() {
  const question = useAsked();
  if (question === null) return null;
  const leave = async () => leaveWithoutQuestion(question.go);
  return (
    <ConfirmDialog title="Leave this page?" action="Leave" danger onConfirm={leave} onClose={() => ask(null)}>
      <p>{question.loss}</p>
    </ConfirmDialog>
  );
}
