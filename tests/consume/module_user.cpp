import consumer;

int main() { return bytes_of(128ul) == 66 ? 0 : 1; }
