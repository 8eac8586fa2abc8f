/** The description of an installed network that users see. */
export interface ModelDescription {
  /** the name in jobs */
  name: string;
  title: string;
  /** what it is for; null if its manifest does not say */
  description: string | null;
  /** factors of the enlargement of each side, largest first */
  scales: number[];
  /** time for a frame on a CPU, as a multiple of the time of `fast`; null if its manifest does not say */
  relativeCost: number | null;
  /** SPDX identifier; null if its manifest does not say */
  license: string | null;
}
