import { Center, Loader, MantineProvider } from '@mantine/core';
import { Suspense, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Provider } from 'urql';
import { Router } from 'wouter';
import { ApiContext, createApi } from './api/client.ts';
import { Shell } from './layout/shell.tsx';
import { lazyPart } from './parts/lazy-part.ts';
import { type OpenSession, openSession } from './session/open-session.ts';
import { cssVariables, theme } from './theme.ts';

const Toaster = lazyPart(() => import('./layout/toaster.tsx'), 'Toaster');
const SignInPage = lazyPart(() => import('./layout/sign-in.tsx'), 'SignInPage');
const SignInFailed = lazyPart<'SignInFailed', { failure: Error }>(() => import('./layout/sign-in.tsx'), 'SignInFailed');

export function App() {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <Suspense>
        <Toaster />
      </Suspense>
      <Router base="/console">
        <Suspense fallback={<Waiting />}>
          <Start />
        </Suspense>
      </Router>
    </MantineProvider>
  );
}

/** Loads the server's sign-in method and, if there is one, this tab's session. */
function Start() {
  const [opened, setOpened] = useState<OpenSession>();
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    openSession().then(setOpened, setFailure);
  }, []);
  if (failure) return <SignInFailed failure={failure} />;
  if (!opened) return <Waiting />;
  return <SignedInOrNot opened={opened} />;
}

function SignedInOrNot({ opened }: { opened: OpenSession }) {
  const { session } = opened;
  const state = useSyncExternalStore(session.subscribe, session.read);
  const subject = state.status === 'signedIn' ? state.subject : undefined;
  // When a token is renewed, the connections are kept. A different user gets new connections and an empty cache.
  const api = useMemo(() => (subject === undefined ? undefined : createApi(session)), [session, subject]);
  useEffect(() => () => void api?.socket.dispose(), [api]);
  if (state.status === 'signedOut' || !api) {
    return <SignInPage opened={opened} hasEnded={state.status === 'signedOut' && state.hasEnded} />;
  }
  return (
    <ApiContext value={api}>
      <Provider value={api.http}>
        <Shell subject={state.subject} onSignOut={() => void session.signOut()} />
      </Provider>
    </ApiContext>
  );
}

function Waiting() {
  return (
    <Center h="100vh" role="status" aria-label="Loading">
      <Loader />
    </Center>
  );
}
