"""One server: the engine and its clock, the scheduler by the rules of vLLM V1, requests and their queues."""
