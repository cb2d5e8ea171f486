/**
 * The screens, in the order of the navigation. To add one, write a file with a function that returns its routes, and
 * list it here (README.md shows how).
 */
import { Router } from 'express';
import type { OperationId } from '../contract/operations.ts';
import { administratorScreens } from './administrators.ts';
import { brandingScreens } from './branding.ts';
import { clientScreens } from './clients.ts';
import { credentialScreens } from './credentials.ts';
import type { ScreenDeps } from './deps.ts';
import { fixScreens } from './imports/fix.ts';
import { guideScreens } from './imports/guide.ts';
import { importScreens } from './imports/routes.ts';
import { hasMailbox, mailboxScreens } from './mailbox.ts';
import { newImportScreens } from './new-import/routes.ts';
import { organizationStateScreens } from './organization-states.ts';
import { organizationScreens } from './organizations.ts';
import { providerScreens } from './providers.ts';
import { systemScreens } from './system.ts';
import { FRAME } from './texts/frame.ts';
import { MAILBOX } from './texts/mailbox.ts';
import { userScreens } from './users/routes.ts';

export interface Screen {
  /** Below `/console`. */
  path: string;
  name(): string;
  /** People who may do this somewhere see the screen in the navigation. The API decides about everything in it. */
  operation: OperationId;
  /** Whether this service has the screen; absent: it has. Its routes answer 403 otherwise. */
  isThere?(deps: Pick<ScreenDeps, 'config'>): boolean;
  /** Routes with full paths, such as `/console/imports/:importId`. */
  routes(deps: ScreenDeps): Router;
}

export const SCREENS: readonly Screen[] = [
  {
    path: '/imports',
    name: () => FRAME.imports,
    operation: 'listImports',
    routes: (deps) => Router().use(fixScreens(deps), newImportScreens(deps), importScreens(deps), guideScreens(deps)),
  },
  { path: '/users', name: () => FRAME.users, operation: 'searchUsers', routes: userScreens },
  {
    path: '/organizations',
    name: () => FRAME.organizations,
    operation: 'searchOrgMembers',
    routes: (deps) =>
      Router()
        .use(organizationScreens(deps))
        .use(organizationStateScreens(deps))
        .use(brandingScreens(deps))
        .use(providerScreens(deps))
        .use(credentialScreens(deps)),
  },
  { path: '/clients', name: () => FRAME.clients, operation: 'listClients', routes: clientScreens },
  {
    path: '/system',
    name: () => FRAME.system,
    operation: 'getDiagnostics',
    routes: (deps) => Router().use(systemScreens(deps)).use(administratorScreens(deps)),
  },
  {
    path: '/mailbox',
    name: () => MAILBOX.title,
    operation: 'addInstanceMember',
    isThere: hasMailbox,
    routes: mailboxScreens,
  },
];
