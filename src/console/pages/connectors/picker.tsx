import { Modal, SimpleGrid, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { formatEnum } from '../../parts/format.ts';
import type { ConnectorInfo } from './rows.ts';

/** All connector types, by category. */
export function ConnectorPicker(props: {
  types: readonly ConnectorInfo[];
  onClose(): void;
  onPick(info: ConnectorInfo): void;
}) {
  const { types, onClose, onPick } = props;
  const [text, setText] = useState('');
  const matchesSearch = ({ title, description, category }: ConnectorInfo) =>
    `${title} ${description} ${category}`.toLowerCase().includes(text.toLowerCase());
  const groups = Object.entries(Object.groupBy(types.filter(matchesSearch), ({ category }) => category));
  return (
    <Modal opened onClose={onClose} title="New connector" size="xl">
      <Stack gap="md">
        <TextInput
          aria-label="Search connectors"
          placeholder={`Search ${types.length} connectors`}
          leftSection={<IconSearch size={16} />}
          data-autofocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {groups.map(([category, members = []]) => (
          <Stack gap="xs" key={category} component="section" aria-label={formatEnum(category)}>
            <Text size="xs" fw={600} c="dimmed">
              {formatEnum(category)}
            </Text>
            <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} spacing="xs">
              {members.map((info) => (
                <UnstyledButton key={info.type} className="panel choice" p="sm" onClick={() => onPick(info)}>
                  <Text size="sm" fw={600}>
                    {info.title}
                  </Text>
                  <Text size="xs" c="dimmed" lineClamp={3}>
                    {info.description}
                  </Text>
                </UnstyledButton>
              ))}
            </SimpleGrid>
          </Stack>
        ))}
        {groups.length === 0 && (
          <Text size="sm" c="dimmed" role="status">
            No matching connectors. Use a webhook to reach any other HTTP service.
          </Text>
        )}
      </Stack>
    </Modal>
  );
}
