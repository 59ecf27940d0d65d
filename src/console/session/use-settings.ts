import { useEffect, useState } from 'react';
import { loadSettings, type Settings } from './settings.ts';

/** This server's settings. Undefined until they are loaded, or if they can't be loaded. */
export function useSettings(): Settings | undefined {
  const [settings, setSettings] = useState<Settings>();
  useEffect(() => {
    loadSettings().then(setSettings, () => {});
  }, []);
  return settings;
}
