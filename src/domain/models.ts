/** What users are told of an installed network. */
export interface ModelDescription {
  /** as in jobs */
  name: string;
  title: string;
  /** what it is for; null where its manifest does not say */
  description: string | null;
  /** factors by which it enlarges each side, largest first */
  scales: number[];
  /** time for a frame on a CPU, as a multiple of that of `fast`; null where its manifest does not say */
  relativeCost: number | null;
  /** SPDX identifier; null where its manifest does not say */
  license: string | null;
}
