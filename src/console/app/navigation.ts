/** Where a page goes when it has done its work. */
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { leaveWithoutQuestion } from './leave-guard.tsx';

/** Goes to a path while the component is shown: a person who has left it meanwhile is not called away. */
export function useNavigateWhileShown(): (path: string) => void {
  const [, navigate] = useLocation();
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return (path) => {
    if (isShown.current) leaveWithoutQuestion(() => navigate(path));
  };
}
