import { Alert, Anchor, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { use, useState } from 'react';
import { ApiContext } from '../api/client.ts';
import { adviceFor, docsSectionOf, type Problem } from '../api/problem.ts';
import { docsUrl } from './docs-link.ts';
import { discardDrafts, keepDrafts } from './drafts.ts';

/** What went wrong and what to do about it. */
export function ProblemNotice(props: { problem: Problem; onRetry?: () => void }) {
  const { problem, onRetry } = props;
  const advice = adviceFor(problem);
  const section = docsSectionOf(problem);
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
        {problem.code === 'RECENT_SIGN_IN_REQUIRED' && <SignInAgain />}
        <Text size="xs" c="dimmed">
          {problem.code}
          {problem.requestId && ` · ${problem.requestId}`}
        </Text>
        {section && (
          <Anchor size="xs" c="inherit" href={docsUrl('errors', section)} target="_blank" underline="always">
            About this error
          </Anchor>
        )}
      </Group>
    </Alert>
  );
}

function SignInAgain() {
  const api = use(ApiContext);
  const [state, setState] = useState<'ready' | 'busy' | 'done'>('ready');
  const [failure, setFailure] = useState<Error>();
  async function signIn() {
    setState('busy');
    setFailure(undefined);
    try {
      keepDrafts();
      const isStillHere = await api?.signInAgain();
      if (!isStillHere) return;
      discardDrafts();
      setState('done');
    } catch (error) {
      discardDrafts();
      setFailure(error as Error);
      setState('ready');
    }
  }
  if (state === 'done') return <Text size="sm">You’ve signed in again. Now try the change again.</Text>;
  return (
    <>
      <Button size="xs" variant="default" loading={state === 'busy'} onClick={() => void signIn()}>
        Sign in again
      </Button>
      {failure && <Text size="sm">Can’t start signing in: {failure.message}</Text>}
    </>
  );
}
