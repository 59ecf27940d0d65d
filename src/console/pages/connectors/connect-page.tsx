import { Alert, Button, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { FinishConnectorAuthorizationDocument } from '../../../generated/console/connectors.ts';
import { useSubmit } from '../../api/use-submit.ts';
import { Loading } from '../../parts/loading.tsx';
import { Page } from '../../parts/page.tsx';
import { ProblemNotice } from '../../parts/problem-notice.tsx';

type Returned = { state: string; code: string } | { refusal: string };

function readReturned(): Returned {
  const parameters = new URLSearchParams(window.location.search);
  const state = parameters.get('state');
  const code = parameters.get('code');
  if (state && code) return { state, code };
  const isDenied = parameters.get('error') === 'access_denied';
  return {
    refusal: isDenied ? 'You didn’t allow access to the account.' : 'The service couldn’t connect the account.',
  };
}

/** The page that a vendor redirects users to after they authorize an account. */
export function ConnectPage() {
  const [returned] = useState(readReturned);
  const { submit, problem } = useSubmit(FinishConnectorAuthorizationDocument);
  const [, go] = useLocation();
  const isStarted = useRef(false);
  useEffect(() => {
    // `state` can be used only once.
    if (isStarted.current) return;
    isStarted.current = true;
    // Keeps the code out of the browser history.
    window.history.replaceState(null, '', window.location.pathname);
    if (!('code' in returned)) return;
    void submit({ input: returned }).then((data) => {
      const connector = data?.finishConnectorAuthorization?.connector;
      if (!connector) return;
      notifications.show({ title: 'Account connected', message: 'Next, test the credentials.', color: 'teal' });
      go(`/projects/${connector.projectId}/connectors`, { replace: true });
    });
  }, [returned, submit, go]);
  const isOver = problem !== undefined || 'refusal' in returned;
  return (
    <Page title="Connect an account">
      <Stack gap="md" align="flex-start">
        {!isOver && <Loading />}
        {problem && <ProblemNotice problem={problem} />}
        {'refusal' in returned && (
          <Alert color="orange" icon={<IconPlugConnectedX size={18} />} title="Not connected">
            {returned.refusal} No changes were made.
          </Alert>
        )}
        {isOver && (
          <Button component={Link} href="/">
            All projects
          </Button>
        )}
      </Stack>
    </Page>
  );
}
