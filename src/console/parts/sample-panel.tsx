import { SegmentedControl } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { Command } from './command.tsx';
import { LANGUAGES, type Language } from './sample-languages.ts';

const OPTIONS = Object.entries(LANGUAGES).map(([value, label]) => ({ value: value as Language, label }));

/** How to send a request with curl or from a program. The browser remembers the language. */
export function SamplePanel({ write }: { write(language: Language): string }) {
  const [chosen, setLanguage] = useLocalStorage<Language>({
    key: 'tollgate.sample-language',
    defaultValue: 'curl',
    getInitialValueInEffect: false,
  });
  const language = chosen in LANGUAGES ? chosen : 'curl';
  return (
    <>
      <SegmentedControl
        aria-label="Language"
        data={OPTIONS}
        value={language}
        onChange={setLanguage}
        style={{ alignSelf: 'flex-start' }}
      />
      <Command>{write(language)}</Command>
    </>
  );
}
