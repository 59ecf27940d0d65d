import {
  Anchor,
  Badge,
  Button,
  type CSSVariablesResolver,
  createTheme,
  Menu,
  Modal,
  Notification,
  SegmentedControl,
  Table,
  TextInput,
  Tooltip,
} from '@mantine/core';

const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const MONOSPACE = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

/** Dense and calm: small type, thin lines, one accent color. */
export const theme = createTheme({
  fontFamily: FONT,
  fontFamilyMonospace: MONOSPACE,
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  headings: {
    fontFamily: FONT,
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  components: {
    Anchor: Anchor.extend({ defaultProps: { size: 'sm' } }),
    Badge: Badge.extend({ defaultProps: { variant: 'light', radius: 'sm', tt: 'none', fw: 500, miw: 'max-content' } }),
    Button: Button.extend({ defaultProps: { size: 'sm' } }),
    // The placeholder has a role that menus must not contain.
    Menu: Menu.extend({ defaultProps: { withInitialFocusPlaceholder: false } }),
    Modal: Modal.extend({
      defaultProps: { centered: true, closeButtonProps: { 'aria-label': 'Close' } },
      styles: { title: { fontWeight: 600, lineHeight: 1.3 } },
    }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }),
    SegmentedControl: SegmentedControl.extend({ defaultProps: { transitionDuration: 0 } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 8, horizontalSpacing: 'md' } }),
    TextInput: TextInput.extend({ defaultProps: { size: 'sm' } }),
    Tooltip: Tooltip.extend({ defaultProps: { withArrow: true, openDelay: 300 } }),
  },
});

/** Text on a light tint of its own color, as in badges. */
const darkerOnTints = Object.fromEntries(
  ['teal', 'red', 'orange', 'yellow', 'gray', 'blue', 'indigo'].map((color) => [
    `--mantine-color-${color}-light-color`,
    `color-mix(in srgb, var(--mantine-color-${color}-9), black 30%)`,
  ]),
);

/** Mantine's dimmed text doesn't have the contrast that WCAG 2.2 requires (1.4.3: 4.5 to 1). */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6b7280',
    '--mantine-color-error': '#c92a2a',
    '--tollgate-canvas': '#f7f8fa',
    ...darkerOnTints,
    '--tollgate-line': '#e4e7eb',
  },
  dark: {
    '--mantine-color-dimmed': '#a3a8b0',
    '--mantine-color-placeholder': '#8d939c',
    '--mantine-color-body': '#16181d',
    '--mantine-color-error': '#ff8787',
    '--tollgate-canvas': '#0f1115',
    '--tollgate-line': '#2a2e36',
  },
});
