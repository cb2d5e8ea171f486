/** Texts of the page for the name, logo and colours of an organization. */
import type { BrandingField } from '../../contract/branding.ts';
import * as de from './de/branding.ts';
import { localized } from './language.ts';

const english = {
  title: 'Name and look of pages and mails',
  titleOf: (name: string) => `Name and look of ${name}`,
  about: 'What is empty is as in the service.',
  aboutService: 'It is for everything that an organization has not set itself.',
  labels: {
    name: 'Name',
    logo: 'Logo',
    primaryColor: 'Colour of links and buttons',
    backgroundColor: 'Background colour',
    theme: 'Light or dark',
    cornerRadius: 'Radius of corners, in pixels',
    'links.help': 'Address of the help',
    'links.terms': 'Address of the terms of use',
    'links.privacy': 'Address of the privacy notice',
    supportEmail: 'Email address for questions',
    senderName: 'Name of the sender of emails',
    language: 'Language',
    'texts.verifyEmail': 'Email that confirms an address',
    'texts.initialise': 'Email that sets up an account',
    'texts.addPasskey': 'Email that adds a passkey',
    'texts.resetPassword': 'Email that resets a password',
  } satisfies Record<BrandingField, string>,
  hints: {
    primaryColor: 'Such as #0b7a3e. It is made darker or lighter where text could not be read.',
    cornerRadius: 'From 0 to 24.',
    'links.help': 'It starts with https://.',
    language: 'Of pages and emails where the person wishes for none, such as de.',
  } as Readonly<Partial<Record<BrandingField, string>>>,
  themes: {
    none: 'As in the service.',
    auto: 'As the browser is.',
    light: 'Always light.',
    dark: 'Always dark.',
  },
  texts: 'Own sentences in emails',
  textsHint:
    'They come first in the email, after the greeting. A first paragraph with {displayName} is the greeting. An empty line begins a paragraph. {displayName}, {orgName} and {userName} are replaced.',
  showMail: 'Show this email',
  save: 'Save',
  preview: 'Preview',
  previewTitle: 'Preview of the sign-in page',
  shown: 'In the preview',
  signInPage: 'Sign-in page',
  phone: 'On a phone',
  desktop: 'On a wide screen',
  shifted: (links: string, inDark: string) =>
    `A colour would be hard to read. Links and buttons are ${links}, and ${inDark} in the dark.`,
  chooseLogo: 'Choose a PNG or WebP',
  removeLogo: 'Remove the logo',
  sendLogo: 'Take this logo',
  logoTooLarge: (kib: number) => `It must have at most ${kib} KiB.`,
  logoMissing: 'Choose a file.',
  logoRefused: 'The logo was not taken:',
  noLogo: 'There is no logo.',
  done: 'The name and look are saved.',
  resetTitle: 'As in the service',
  reset: 'Take everything of the service',
  resetEffect: 'The organization loses its own name, logo, colours, links and sentences.',
  sample: { application: 'Example application', loginName: 'ann@example.com' },
};

export const BRANDING = localized(english, de.BRANDING);
