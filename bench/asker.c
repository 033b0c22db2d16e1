/* Asks as cheaply as can be, so that servers on the same processors have them to themselves: SOCKETS ports, each with
 * WINDOW questions on the way, looked at every half a millisecond with recvmmsg and sendmmsg.
 * Usage: asker PORT SECONDS SOCKETS WINDOW FILE, whose lines are NAME TYPE (A or AAAA).
 * Says: answered, failed (SERVFAIL and REFUSED), seconds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST = 64, PACKET = 1500, HEADER = 12, QUESTION = 300, SERVFAIL = 2, REFUSED = 5 };

typedef struct {
    unsigned char wire[QUESTION];
    size_t size;
} question;

static question *questions;
static size_t count, next_one;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void encode(question *one, char *name, const char *type) {
    static const unsigned char header[HEADER] = {0, 0, 1, 0, 0, 1};
    unsigned char *at = one->wire + HEADER;
    memcpy(one->wire, header, HEADER);
    for (char *label = strtok(name, "."); label != NULL; label = strtok(NULL, ".")) {
        size_t length = strlen(label);
        *at++ = (unsigned char)length;
        memcpy(at, label, length);
        at += length;
    }
    *at++ = 0;
    *at++ = 0;
    *at++ = strcmp(type, "AAAA") == 0 ? 28 : 1;
    *at++ = 0;
    *at++ = 1;
    one->size = (size_t)(at - one->wire);
}

static void read_questions(const char *path) {
    char name[256], type[16];
    size_t room = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while (fscanf(file, "%255s %15s", name, type) == 2) {
        if (count == room) questions = realloc(questions, (room = room * 2 + 1024) * sizeof *questions);
        encode(&questions[count++], name, type);
    }
    fclose(file);
}

static void send_some(int sock, int wanted) {
    struct iovec parts[MOST];
    struct mmsghdr messages[MOST];
    memset(messages, 0, sizeof messages);
    for (int n = 0; n < wanted; n++) {
        question *one = &questions[next_one++ % count];
        one->wire[0] = (unsigned char)rand();
        one->wire[1] = (unsigned char)rand();
        parts[n] = (struct iovec){one->wire, one->size};
        messages[n].msg_hdr.msg_iov = &parts[n];
        messages[n].msg_hdr.msg_iovlen = 1;
    }
    sendmmsg(sock, messages, (unsigned)wanted, MSG_DONTWAIT);
}

static int receive_some(int sock, long *failed) {
    static unsigned char packets[MOST][PACKET];
    struct iovec parts[MOST];
    struct mmsghdr messages[MOST];
    int received;
    memset(messages, 0, sizeof messages);
    for (int n = 0; n < MOST; n++) {
        parts[n] = (struct iovec){packets[n], PACKET};
        messages[n].msg_hdr.msg_iov = &parts[n];
        messages[n].msg_hdr.msg_iovlen = 1;
    }
    received = recvmmsg(sock, messages, MOST, MSG_DONTWAIT, NULL);
    for (int n = 0; n < received; n++) {
        int rcode = packets[n][3] & 15;
        *failed += rcode == SERVFAIL || rcode == REFUSED;
    }
    return received > 0 ? received : 0;
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct timespec pause = {0, 500000};
    long answered = 0, failed = 0;
    if (argc != 6) return 2;
    int sockets = atoi(argv[3]), window = atoi(argv[4]);
    int *socks = calloc((size_t)sockets, sizeof *socks);
    double *heard = calloc((size_t)sockets, sizeof *heard), began, end;
    if (window > MOST) window = MOST;
    read_questions(argv[5]);
    if (count == 0) return 1;
    address.sin_port = htons((unsigned short)atoi(argv[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    began = now();
    for (int n = 0; n < sockets; n++) {
        socks[n] = socket(AF_INET, SOCK_DGRAM, 0);
        if (connect(socks[n], (struct sockaddr *)&address, sizeof address) != 0) return 1;
        heard[n] = began;
        send_some(socks[n], window);
    }
    end = began + atof(argv[2]);
    for (double time = began; time < end; time = now()) {
        for (int n = 0; n < sockets; n++) {
            int received = receive_some(socks[n], &failed);
            answered += received;
            if (received > 0)
                heard[n] = time;
            else if (time - heard[n] > 1.0) /* all of them were lost */
                received = window, heard[n] = time;
            if (received > 0) send_some(socks[n], received < window ? received : window);
        }
        nanosleep(&pause, NULL);
    }
    printf("%ld %ld %.6f\n", answered, failed, now() - began);
    return 0;
}
