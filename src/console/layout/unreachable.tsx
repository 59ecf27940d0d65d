import { Button, Group, Text } from '@mantine/core';
import { useEffect, useEffectEvent } from 'react';
import { Page } from '../parts/page.tsx';

const RETRY_MILLISECONDS = 5_000;

/**
 * Shown when nothing could be loaded because the server can't be reached. Retries automatically. It is part of the
 * console's initial scripts, because nothing else can be loaded at this point.
 */
export function Unreachable({ onRetry }: { onRetry(): void }) {
  const retry = useEffectEvent(onRetry);
  useEffect(() => {
    const retryNow = () => retry();
    const timer = setInterval(retryNow, RETRY_MILLISECONDS);
    window.addEventListener('online', retryNow);
    return () => {
      clearInterval(timer);
      window.removeEventListener('online', retryNow);
    };
  }, []);
  return (
    <Page title="Can’t reach the server" lead="The server isn’t responding. This page tries again every few seconds.">
      <Text component="ul" m={0} pl="lg">
        <li>Check your internet connection.</li>
        <li>If you run the service yourself, make sure that it’s running at {window.location.origin}.</li>
        <li>Otherwise, ask its operator whether it’s down.</li>
      </Text>
      <Group>
        <Button onClick={onRetry}>Try again</Button>
      </Group>
    </Page>
  );
}
