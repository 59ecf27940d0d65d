import { Button, Group, Menu, Select, Text } from '@mantine/core';
import { IconHistory, IconLink, IconSparkles, IconTerminal2 } from '@tabler/icons-react';
import { showNotCopied } from '../../parts/copy-button.tsx';
import { copyText } from '../../parts/copy-text.ts';
import { Time } from '../../parts/time.tsx';
import { showDone } from '../../parts/toast.tsx';
import { EXAMPLES } from './examples.ts';
import { type HistoryEntry, titleOf } from './history.ts';

/** The examples, the history, and the actions for the operation in the editor. */
export function GraphqlToolbar(props: {
  history: readonly HistoryEntry[];
  onExample(query: string): void;
  onHistory(entry: HistoryEntry): void;
  onClearHistory(): void;
  onPrettify(): void;
  curl(): string;
  link(): string;
}) {
  const { history, onExample, onHistory, onClearHistory, onPrettify, curl, link } = props;
  return (
    <>
      <Select
        label="Example"
        data={EXAMPLES.map(({ name }) => name)}
        placeholder="Choose one"
        value={null}
        onChange={(chosen) => onExample(EXAMPLES.find(({ name }) => name === chosen)!.query)}
      />
      <Group gap="xs">
        <Menu position="bottom-end" width={320}>
          <Menu.Target>
            <Button size="xs" variant="default" leftSection={<IconHistory size={14} />} disabled={history.length === 0}>
              History
            </Button>
          </Menu.Target>
          <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
            {history.map((entry) => (
              <Menu.Item key={entry.at} onClick={() => onHistory(entry)}>
                <Text size="sm" truncate>
                  {titleOf(entry)}
                </Text>
                <Text size="xs" c="dimmed">
                  <Time iso={entry.at} />
                </Text>
              </Menu.Item>
            ))}
            <Menu.Divider />
            <Menu.Item onClick={onClearHistory}>Clear the history</Menu.Item>
          </Menu.Dropdown>
        </Menu>
        <Button size="xs" variant="default" leftSection={<IconSparkles size={14} />} onClick={onPrettify}>
          Prettify
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconTerminal2 size={14} />}
          onClick={() => void copy(curl(), 'curl command')}
        >
          Copy as cURL
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconLink size={14} />}
          onClick={() => void copy(link(), 'link')}
        >
          Copy link
        </Button>
      </Group>
    </>
  );
}

async function copy(text: string, what: string): Promise<void> {
  if (await copyText(text)) showDone(`Copied the ${what}`);
  else showNotCopied(`The console can’t show the ${what} anywhere else. Open the console over HTTPS to copy it.`);
}
