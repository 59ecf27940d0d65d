import { SegmentedControl } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Command } from '../../parts/command.tsx';
import { SAMPLES, type SampleRequest } from './samples.ts';

type Language = keyof typeof SAMPLES;
const LANGUAGES = Object.entries(SAMPLES).map(([value, { label }]) => ({ value: value as Language, label }));

/** How to send the request with curl or from a program. The browser remembers the language. */
export function SamplePanel({ request }: { request: SampleRequest }) {
  const [chosen, setLanguage] = useLocalStorage<Language>({
    key: 'tollgate.sample-language',
    defaultValue: 'curl',
    getInitialValueInEffect: false,
  });
  const language = chosen in SAMPLES ? chosen : 'curl';
  return (
    <>
      <SegmentedControl
        aria-label="Language"
        data={LANGUAGES}
        value={language}
        onChange={setLanguage}
        style={{ alignSelf: 'flex-start' }}
      />
      <Command>{SAMPLES[language].write(request)}</Command>
    </>
  );
}
