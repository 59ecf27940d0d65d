import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { adviceFor, type Problem } from '../api/problem.ts';

/** What went wrong and what to do about it. */
export function ProblemNotice(props: { problem: Problem; onRetry?: () => void }) {
  const { problem, onRetry } = props;
  const advice = adviceFor(problem);
  return (
    <Alert role="alert" color="red" variant="light" icon={<IconAlertTriangle size={18} />} title={problem.message}>
      {advice && <Text size="sm">{advice}</Text>}
      {problem.fields.map(({ pointer, message }) => (
        <Text size="sm" key={pointer}>
          <Code>{pointer}</Code> {message}
        </Text>
      ))}
      <Group mt="xs" gap="sm">
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
        <Text size="xs" c="dimmed">
          {problem.code}
          {problem.requestId && ` · ${problem.requestId}`}
        </Text>
      </Group>
    </Alert>
  );
}
