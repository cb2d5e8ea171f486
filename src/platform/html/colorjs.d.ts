/**
 * What is used of colorjs.io. Its own types bring those of browsers (`lib="dom"`) into the whole program, where some of
 * them hide those of Node.js; `paths` of tsconfig.json names this file in their place.
 */
export interface Color {
  spaceId: string;
  coords: (number | null)[];
  alpha: number | null;
}
export interface Space {
  readonly id: string;
}
export const ColorSpace: { register(space: Space): Space };
export const sRGB: Space;
export const OKLab: Space;
export const OKLCH: Space;
export const HSL: Space;
/** Throws TypeError for what is no colour of CSS. */
export function parse(color: string): Color;
export function to(color: Color, space: string): Color;
export function toGamut(color: Color, options: { space: string }): Color;
export function mix(one: Color, other: Color, share: number, options: { space: string; outputSpace: string }): Color;
export function contrastWCAG21(one: Color, other: Color): number;
export function serialize(color: Color, options: { format: 'hex'; collapse: boolean }): string;
