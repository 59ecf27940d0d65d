import { Alert, Button, Center, Code, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ColorSchemeButton } from '../parts/color-scheme-button.tsx';
import { Command } from '../parts/command.tsx';
import { Logo } from '../parts/logo.tsx';
import { mintDevToken } from '../session/dev-token.ts';
import type { OidcSession } from '../session/oidc-session.ts';
import type { OpenSession } from '../session/open-session.ts';
import type { TokenSession } from '../session/token-session.ts';

const TIERS = [
  { value: 'STARTER', label: 'Starter', limits: '60 requests per minute, no connectors' },
  { value: 'PRO', label: 'Pro', limits: '300 requests per minute, 5 connectors' },
  { value: 'BUSINESS', label: 'Business', limits: '1,000 requests per minute, 15 connectors' },
  { value: 'ENTERPRISE', label: 'Enterprise', limits: 'No limits' },
];

export function SignInPage({ opened, hasEnded }: { opened: OpenSession; hasEnded: boolean }) {
  return (
    <SignInFrame title="Sign in">
      {hasEnded && <Alert color="yellow">Your session has ended. Sign in to continue where you left off.</Alert>}
      {opened.kind === 'oidc' && <ProviderSignIn issuer={opened.signIn.issuer} session={opened.session} />}
      {opened.kind === 'development' && <DevelopmentSignIn session={opened.session} />}
      {opened.kind === 'token' && <TokenSignIn session={opened.session} />}
    </SignInFrame>
  );
}

export function SignInFailed({ failure }: { failure: Error }) {
  return (
    <SignInFrame title="Sign in">
      <Alert color="red" role="alert" title="Sign-in failed">
        {failure.message}
      </Alert>
      <Button component="a" href="/console/">
        Try again
      </Button>
    </SignInFrame>
  );
}

function SignInFrame({ title, children }: { title: string; children: ReactNode }) {
  useDocumentTitle(`${title} · Tollgate`);
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack w="100%" maw={400} gap="lg">
        <Group justify="space-between">
          <Logo />
          <ColorSchemeButton />
        </Group>
        <Stack className="panel" p="lg" gap="md">
          <Title order={1}>{title}</Title>
          {children}
        </Stack>
      </Stack>
    </Center>
  );
}

function ProviderSignIn({ issuer, session }: { issuer: string; session: OidcSession }) {
  const [failure, setFailure] = useState<Error>();
  const [isLeaving, setLeaving] = useState(false);
  const leave = () => {
    setLeaving(true);
    session.redirect().catch((error: Error) => {
      setLeaving(false);
      setFailure(error);
    });
  };
  if (!window.isSecureContext) return <NeedsHttps />;
  return (
    <>
      <Text size="sm" c="dimmed">
        You’ll sign in at {new URL(issuer).host}, then return here.
      </Text>
      {failure && (
        <Alert color="red" role="alert" title="Can’t start signing in">
          {failure.message}
        </Alert>
      )}
      <Button onClick={leave} loading={isLeaving}>
        Continue
      </Button>
    </>
  );
}

/** Browsers offer the hashes of PKCE only in secure contexts (Web Cryptography Level 2 §10, `SecureContext`). */
function NeedsHttps() {
  return (
    <Alert color="orange" role="alert" title="Sign-in needs HTTPS">
      This page came over plain HTTP, where browsers don’t offer the encryption that sign-in needs. Open the console at
      an address that starts with https://, or at http://localhost on the machine that runs the server.
    </Alert>
  );
}

function DevelopmentSignIn({ session }: { session: TokenSession }) {
  const [subject, setSubject] = useState('alice');
  const [email, setEmail] = useState('');
  const [tier, setTier] = useState('PRO');
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  async function signIn(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      session.accept(await mintDevToken({ subject, tier, ...(email && { email }) }));
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  }
  return (
    <form onSubmit={signIn}>
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          This server is in development mode, so you can sign in with any name. A new name creates a new account.
        </Text>
        <TextInput
          label="Name"
          autoComplete="username"
          required
          value={subject}
          error={problem}
          onChange={(event) => setSubject(event.currentTarget.value)}
        />
        <TextInput
          label="Email address"
          description="Optional. The address is treated as verified, so you can accept invitations."
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <NativeSelect
          label="Tier"
          description={TIERS.find(({ value }) => value === tier)?.limits}
          data={TIERS.map(({ value, label }) => ({ value, label }))}
          value={tier}
          onChange={(event) => setTier(event.currentTarget.value)}
        />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

function TokenSignIn({ session }: { session: TokenSession }) {
  const [token, setToken] = useState('');
  function signIn(event: FormEvent) {
    event.preventDefault();
    session.accept(token.trim());
  }
  return (
    <form onSubmit={signIn}>
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          No identity provider is configured for the console (<Code>CONSOLE_CLIENT_ID</Code> isn’t set). Paste a token
          from a trusted issuer. It’s kept only in this tab.
        </Text>
        <TextInput
          label="Token"
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Button type="submit">Sign in</Button>
        <Text size="sm" c="dimmed">
          In development, create a token with:
        </Text>
        <Command>npx tollgate token --sub alice --tier pro</Command>
      </Stack>
    </form>
  );
}
