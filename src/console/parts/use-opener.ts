import { useEffect, useEffectEvent } from 'react';
import { useSearchParams } from 'wouter';

/**
 * Opens a dialog when the address has a parameter, as in `/endpoints?new`, and removes the parameter.
 *
 * @param obstacle why the person can't use the dialog. It then stays closed.
 */
export function useOpener(name: string, open: () => void, obstacle?: string): void {
  const [parameters, setParameters] = useSearchParams();
  const isSet = parameters.has(name);
  const run = useEffectEvent(() => {
    const remove = (current: URLSearchParams) => {
      current.delete(name);
      return current;
    };
    setParameters(remove, { replace: true });
    if (obstacle === undefined) open();
  });
  useEffect(() => {
    if (isSet) run();
  }, [isSet]);
}
